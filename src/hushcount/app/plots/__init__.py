"""Pictures: of counts, and of what limits would have stopped."""
