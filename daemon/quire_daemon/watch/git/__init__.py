"""Git: which git command changed the checkout, and who ran it."""
