"""Finds a text in all sessions; nothing is kept between two searches."""
