"""Protocol: generators that yield effects and receive their replies. No I/O happens here."""
