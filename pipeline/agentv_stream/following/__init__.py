"""Following logs while they grow: cursors that survive a crash, rotation, outputs that go on where they were."""
