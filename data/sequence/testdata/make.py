"""Writes answers.json: for each task and length, how many inputs there are among all strings of its
alphabet, and the SHA-256 of the lines "input output scored" in alphabetical order of numbers; and
examples of longer inputs. Answers are Python's own: eval, int, math.isqrt, sorted, slices.

    python3 data/sequence/testdata/make.py > data/sequence/testdata/answers.json
"""
import functools
import hashlib
import itertools
import json
import math
import random
import re


@functools.lru_cache(None)
def expressions(n, operators):
    """All expressions of n characters that the published generator can draw."""
    if n <= 4:
        form = {1: "%s", 2: "-%s", 3: "(%s)", 4: "(-%s)"}[n]
        return {form % d for d in "01234"}
    return {
        "(" + a + o + b + ")"
        for k in range(1, n - 3)
        for a in expressions(k, operators)
        for b in expressions(n - 3 - k, operators)
        for o in operators
    }


def padded(out, n):
    return (out + "." + "0" * n)[:n], len(out) + 1


def low_first(n):
    return format(n, "b")[::-1]


def whole(out):
    return out, len(out)


def two_numbers(s, sign):
    """The numbers of a sum or product; None where there are none."""
    parts = s.split(sign)
    if len(parts) != 2 or not all(re.fullmatch("[01]+", p) and "1" in p for p in parts):
        return None
    return [int(p[::-1], 2) for p in parts]


def addition(s):
    if len(s) < 3:
        return padded(low_first(int(s[::-1], 2)), len(s) + 1) if "0" in s and "+" not in s else None
    numbers = two_numbers(s, "+")
    return numbers and padded(low_first(sum(numbers)), len(s) + 1)


def multiplication(s):
    if len(s) < 3:
        return padded("0" * (len(s) - 1), len(s)) if "0" in s and "*" not in s else None
    numbers = two_numbers(s, "*")
    return numbers and padded(low_first(numbers[0] * numbers[1]), len(s))


def stack(s):
    if not re.fullmatch("[01]|[01]+[PZO]+", s):
        return None
    content = [c for c in s if c in "01"]
    for c in s[len(content):]:
        if c == "P":
            content = content[:-1]
        else:
            content = content + [{"Z": "0", "O": "1"}[c]]
    return padded("".join(reversed(content)), len(s) + 1)


def missing(s):
    if len(s) == 1:
        return whole("1") if s == "1" else None
    half = len(s) // 2
    text, rest = s[: 2 * half], s[2 * half:]
    if rest not in ("", "_") or (len(s) % 2 == 1) != (rest == "_"):
        return None
    found = [d for d in "01" if text.count("?") == 1 and (text.replace("?", d)[:half] == text.replace("?", d)[half:])]
    return whole(found[0]) if len(found) == 1 and "_" not in text else None


def simple(s):
    if not re.fullmatch(r"\d([-+*]\d)*", s):
        return None
    return whole(str(eval(s) % 5))


def brackets(s):
    return whole(str(eval(s) % 5)) if s in expressions(len(s), "+-*") else None


def equation(s):
    if len(s) < 3:
        return whole("0") if set(s) == {"0"} else None
    if s[-2] != "=" or s[-1] not in "01234" or s.count("x") != 1:
        return None
    left = s[:-2]
    if left.replace("x", "0") not in expressions(len(left), "+-"):
        return None
    found = [d for d in "01234" if eval(left.replace("x", d)) % 5 == int(s[-1])]
    assert len(found) == 1
    return whole(found[0])


def root(s):
    n = int(s, 2)
    return whole(format(math.isqrt(n), "b").zfill((len(s) + 1) // 2)) if n else None


TASKS = {  # alphabet, the longest length of which all strings are tried, answer
    "even-pairs": ("01", 10, lambda s: whole(str((s.count("01") + s.count("10")) % 2))),
    "modular-arithmetic": ("01234+-*", 5, simple),
    "parity-check": ("01", 10, lambda s: whole(str(s.count("1") % 2))),
    "cycle-navigation": ("-0+", 7, lambda s: whole(str((s.count("+") - s.count("-")) % 5))),
    "stack-manipulation": ("01PZO", 6, stack),
    "reverse-string": ("01", 10, lambda s: whole(s[::-1])),
    "modular-arithmetic-brackets": ("01234+-*()", 6, brackets),
    "solve-equation": ("01234+-*()x=", 5, equation),
    "duplicate-string": ("01", 10, lambda s: whole(s + s)),
    "missing-duplicate": ("01?_", 8, missing),
    "odds-first": ("01", 10, lambda s: whole(s[1::2] + s[::2])),
    "binary-addition": ("01+", 9, addition),
    "binary-multiplication": ("01*", 9, multiplication),
    "compute-sqrt": ("01", 12, root),
    "bucket-sort": ("01234", 6, lambda s: whole("".join(sorted(s)))),
}

LONG = {
    "modular-arithmetic": lambda r: r.choice("01234") + "".join(r.choice("+-*") + r.choice("01234") for _ in range(20)),
    "stack-manipulation": lambda r: "".join(r.choices("01", k=20)) + "".join(r.choices("PPZO", k=35)),
    "modular-arithmetic-brackets": lambda r: long_expression(r, 41, "+-*"),
    "solve-equation": lambda r: long_equation(r),
    "missing-duplicate": lambda r: long_missing(r),
    "binary-addition": lambda r: long_pair(r, "+"),
    "binary-multiplication": lambda r: long_pair(r, "*"),
    "compute-sqrt": lambda r: "1" + "".join(r.choices("01", k=199)),
}


def long_expression(r, n, operators):
    if n <= 4:
        return r.choice(sorted(expressions(n, operators)))
    k = r.randrange(1, n - 3)
    return "(" + long_expression(r, k, operators) + r.choice(operators) + long_expression(r, n - 3 - k, operators) + ")"


def long_equation(r):
    left = long_expression(r, 39, "+-")
    at = r.choice([i for i, c in enumerate(left) if c.isdigit()])
    return left[:at] + "x" + left[at + 1:] + "=" + str(eval(left) % 5)


def long_missing(r):
    s = "".join(r.choices("01", k=30)) * 2
    at = r.randrange(60)
    return s[:at] + "?" + s[at + 1:] + "_"


def long_pair(r, sign):
    digits = ["".join(r.choices("01", k=r.randrange(1, 150))) + "1" for _ in range(2)]
    return sign.join(digits)


def long_answer(name, s):
    if name == "modular-arithmetic-brackets":
        return whole(str(eval(s) % 5))
    if name == "solve-equation":
        found = [d for d in "01234" if eval(s[:-2].replace("x", d)) % 5 == int(s[-1])]
        return whole(found[0])
    return TASKS[name][2](s)


out = {}
for name, (alphabet, longest, answer) in TASKS.items():
    lengths = []
    for n in range(1, longest + 1):
        h, count = hashlib.sha256(), 0
        for letters in itertools.product(alphabet, repeat=n):
            s = "".join(letters)
            found = answer(s)
            if found:
                count += 1
                h.update(f"{s} {found[0]} {found[1]}\n".encode())
        lengths.append({"count": count, "sha256": h.hexdigest()})
    r = random.Random(name)
    examples = []
    for _ in range(4):
        s = LONG.get(name, lambda r: "".join(r.choices(alphabet, k=60)))(r)
        text, scored = long_answer(name, s)
        examples.append({"input": s, "output": text, "scored": scored})
    out[name] = {"lengths": lengths, "examples": examples}
print(json.dumps(out, indent=1))
