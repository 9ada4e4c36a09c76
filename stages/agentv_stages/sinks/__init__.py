"""Renderers: what the stages made goes in, bytes come out. Pure; where the bytes go is the shell's business."""
