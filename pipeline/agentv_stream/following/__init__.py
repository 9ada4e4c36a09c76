"""Follows logs while they grow: cursors that survive a crash, rotation, outputs that continue where they were."""
