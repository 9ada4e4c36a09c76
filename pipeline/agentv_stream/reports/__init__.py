"""Results of many runs compared: figures, text, HTML."""
