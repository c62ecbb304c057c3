from encoding import Encoding, implements


@implements("nope", "c-nope")
class NoPE(Encoding):
    """No encoding. With a causal mask (attention.causal of config.json) places can be inferred."""
