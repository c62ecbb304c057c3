TABLES = {}  # function by name of the scheme


def computes(*schemes):
    """Names the schemes whose fixed tables a function returns, as lists by name."""
    def register(function):
        TABLES.update({name: function for name in schemes})
        return function
    return register


class Places:
    """Sizes, and where tokens lie."""

    def __init__(self, config):
        at = config["positions"]
        self.index, self.cells, self.points = at["index"], at.get("cells"), at.get("points")
        self.n, self.heads, self.d_model = len(self.index), config["heads"], config["d_model"]
        self.head_width = self.d_model // self.heads

    def coordinates(self, dims):
        """Returns points; or cells, in three dimensions as one frame; or the place on the line."""
        if self.points is not None:
            return self.points
        if self.cells is not None and dims != 1:
            return [[0] * (dims - 2) + list(cell) for cell in self.cells]
        return [[place] for place in self.index]

    def by_place(self, rows):
        """Returns a row for each token in the order of places."""
        return [row for _, row in sorted(zip(self.index, rows), key=lambda pair: pair[0])]
