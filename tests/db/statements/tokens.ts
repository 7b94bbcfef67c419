/** SQL as nested lists of words: enough to see which tables a statement names, and how. */

/** A word, a sign, a literal or a parameter; or what stands in a pair of parentheses. */
export type Token = string | Token[];

/**
 * Splits a statement. Words are in lower case, quoted names keep their quotes, a string is `''`.
 *
 * @throws {SyntaxError} when a parenthesis is not closed, or closed without being open
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
      if (stack.length === 0) throw new SyntaxError(`closed what was not open: ${text}`);
    } else current.push(piece.startsWith("'") ? "''" : piece.toLowerCase());
  }
  if (stack.length > 1) throw new SyntaxError(`left open: ${text}`);
  return stack[0]!;
}

/** The parts between the given words, which stand at this level and not in parentheses. */
export function splitAt(tokens: readonly Token[], ...words: string[]): Token[][] {
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (typeof token === "string" && words.includes(token)) parts.push([]);
    else parts.at(-1)!.push(token);
  }
  return parts;
}

/** Whether tokens are those, where a `RegExp` stands for a word that it matches. */
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

/** All words and signs, those in parentheses too. */
export function wordsOf(tokens: readonly Token[]): string[] {
  return tokens.flatMap((token) => typeof token === "string" ? [token] : wordsOf(token));
}

/** Whether these are a statement, and not a list or a condition in parentheses. */
export function isQuery([first]: readonly Token[]): boolean {
  return typeof first === "string" &&
    ["select", "with", "insert", "update", "delete"].includes(first);
}
