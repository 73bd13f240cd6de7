"""Watch: what other programs do to the checkout, noticed by hints and scans, and noted."""
