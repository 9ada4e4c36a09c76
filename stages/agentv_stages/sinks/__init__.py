"""Renderers: output of the stages in, bytes out. Pure; `agentv_stream` decides where the bytes go."""
