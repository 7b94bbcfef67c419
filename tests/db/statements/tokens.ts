/** SQL as nested token lists: enough to see how a statement uses its tables. */

/** A word, an operator, a literal or a parameter; or the tokens in a pair of parentheses. */
export type Token = string | Token[];

/**
 * Tokenizes a statement: words in lower case, quoted names with their quotes, strings as `''`.
 *
 * @throws {SyntaxError} on unbalanced parentheses
 */
export function tokenize(text: string): Token[] {
  const pattern = /\s+|--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$\d+|[a-z_]\w*|\d[\w.]*|::|<>|[<>]=|./gisy;
  const stack: Token[][] = [[]];
  for (const [piece] of text.matchAll(pattern)) {
    const current = stack.at(-1)!;
    if (piece.trim() === "" || piece.startsWith("--")) continue;
    if (piece === "(") {
      const group: Token[] = [];
      current.push(group);
      stack.push(group);
    } else if (piece === ")") {
      stack.pop();
      if (stack.length === 0) throw new SyntaxError(`unmatched closing parenthesis: ${text}`);
    } else current.push(piece.startsWith("'") ? "''" : piece.toLowerCase());
  }
  if (stack.length > 1) throw new SyntaxError(`unclosed parenthesis: ${text}`);
  return stack[0]!;
}

/** Splits at the given words, outside of parentheses. */
export function splitAt(tokens: readonly Token[], ...words: string[]): Token[][] {
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (typeof token === "string" && words.includes(token)) parts.push([]);
    else parts.at(-1)!.push(token);
  }
  return parts;
}

/** Whether tokens match a pattern of words and regular expressions. */
export function isLike(
  tokens: readonly Token[],
  pattern: readonly (string | RegExp)[],
): tokens is string[] {
  return tokens.length === pattern.length && pattern.every((expected, index) => {
    const token = tokens[index];
    if (typeof token !== "string") return false;
    return typeof expected === "string" ? token === expected : expected.test(token);
  });
}

/** All words and operators, including those in parentheses. */
export function wordsOf(tokens: readonly Token[]): string[] {
  return tokens.flatMap((token) => typeof token === "string" ? [token] : wordsOf(token));
}

/** Whether the tokens are a query, not a list or a condition. */
export function isQuery([first]: readonly Token[]): boolean {
  return typeof first === "string" &&
    ["select", "with", "insert", "update", "delete"].includes(first);
}
