"""From the raw news of one attempt or one look-up to what it teaches."""
