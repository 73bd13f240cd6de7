"""Commands about whole journals: verify, prove, ship, gc, purge, repair, doctor, list, adopt, forget."""
