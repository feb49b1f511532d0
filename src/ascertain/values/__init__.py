"""Values: what goes into a tool and what comes out, checked, exact, and as JSON."""
