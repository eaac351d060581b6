#!/usr/bin/env python3
"""Prints the value of an arithmetic expression: {"expression": "12 * 30"} on standard input."""

import ast
import json
import operator
import sys

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.UAdd: operator.pos, ast.USub: operator.neg}


def value_of(node: ast.expr) -> float:
    """The value of a tree of numbers and OPERATORS; what else an expression may hold is refused."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](value_of(left), value_of(right))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](value_of(operand))
    raise ValueError("only numbers, + - * / and brackets are known")


def main() -> None:
    try:
        expression = json.load(sys.stdin)["expression"]
        value = value_of(ast.parse(expression, mode="eval").body)
        print(int(value) if isinstance(value, float) and value.is_integer() else value)
    except (ArithmeticError, KeyError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        sys.exit(f"{error}")

if __name__ == "__main__":
    main()
