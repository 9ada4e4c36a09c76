"""Estimates of costs at list prices."""
