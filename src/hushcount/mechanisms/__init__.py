"""Private mechanisms: bounded input, calibrated plan and noise source in; release with its actual cost out."""
