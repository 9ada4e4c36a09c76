"""A session as one HTML page to read and to hand on."""
