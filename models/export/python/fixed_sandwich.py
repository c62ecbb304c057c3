from fixed import computes


@computes("sandwich")
def sandwich_tables(options, at):
    return {"weights": [at.heads / (8 * (h + 1)) for h in range(at.heads)]}
