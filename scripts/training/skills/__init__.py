"""The skills of the corpus: each module makes one kind of exchange.

A skill takes a random generator and returns turns: a list of (user, assistant) pairs.

The number and the order of the random draws belong to the released corpus: a draw that is removed,
added or moved changes every document after it. `skip_draw` marks draws that only keep that order.
"""
