"""Functions of the public API that fit no other package."""
