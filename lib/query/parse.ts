/**
 * The grammar of the parameter `q`: terms that must all match.
 *
 * ```ebnf
 * query      = { space } , [ term , { space , { space } , term } , { space } ] ;
 * term       = seen | tags | text ;
 * seen       = ( "first-seen:" | "last-seen:" ) , [ operator ] , day ;
 * operator   = "<=" | "<" | ">=" | ">" ;
 * day        = digit , digit , digit , digit , "-" , digit , digit , "-" , digit , digit ;
 * tags       = "tags:" , { "," } , tag , { "," , [ tag ] } ;
 * tag        = tag char , { tag char } ;
 * text       = character , { character } ;
 *
 * digit      = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" ;
 * tag char   = ? any character except space and "," ? ;
 * character  = ? any character except space ? ;
 * space      = ? white space of Unicode, as \s matches it ? ;
 * ```
 *
 * A term that begins with exactly `first-seen:`, `last-seen:` or `tags:` must be a valid `seen` or
 * `tags`, with a day of the calendar. Any other term is a `text`, also with a colon, because test
 * names contain colons. There is no quoting and no escaping. A repeated term counts once.
 */
import { parseDay } from "../base/time.ts";
import { foldCase } from "./fold.ts";

/** How the day of a test compares with the day of a term; `=` without an operator. */
export type DayOperator = "<" | "<=" | ">" | ">=" | "=";

/** One condition of a query. */
export type Term =
  /** `day` is `YYYY-MM-DD`. */
  | { kind: "first-seen" | "last-seen"; operator: DayOperator; day: string }
  /** At least one of the tags; folded, never empty. */
  | { kind: "tags"; tags: string[] }
  /** A part of suite, name, file or class; folded. */
  | { kind: "text"; text: string };

/** Terms that must all match; none for blank text. */
export interface Query {
  terms: Term[];
}

/** Bounds the cost of hostile queries. */
export const MAX_QUERY_CHARACTERS = 1000;

/** A term of the query, or a part of one. */
interface Token {
  text: string;
  /** Characters (code points) before it in the query. */
  offset: number;
}

/** An invalid term; `offset` counts the characters (code points) before the mistake. */
class TermError extends SyntaxError {
  readonly offset: number;

  constructor(message: string, token: Token) {
    super(message);
    this.offset = token.offset;
  }
}

/**
 * Parses the text of a query, or returns all errors.
 *
 * Each message names an invalid term by its number and text, and the character (both counted from 1)
 * of the mistake. A blank text is a query without terms.
 *
 * @example
 * ```ts
 * import { parseQuery } from "./parse.ts";
 *
 * parseQuery("login last-seen:>=2026-01-31").query?.terms.length; // 2
 * parseQuery("tags:").errors; // ['term 1 "tags:": "" at character 6 is not a list of tags, ...']
 * ```
 */
export function parseQuery(
  text: string,
): { query: Query; errors?: undefined } | { query?: undefined; errors: string[] } {
  const length = countCharacters(text);
  if (length > MAX_QUERY_CHARACTERS) {
    return { errors: [`${length} characters, expected at most ${MAX_QUERY_CHARACTERS}`] };
  }
  const terms: Term[] = [];
  const errors: string[] = [];
  for (const [index, token] of tokenize(text).entries()) {
    try {
      terms.push(parseTerm(token));
    } catch (error) {
      if (!(error instanceof TermError)) throw error;
      errors.push(`term ${index + 1} "${token.text}": ${error.message}`);
    }
  }
  return errors.length > 0 ? { errors } : { query: { terms: distinct(terms) } };
}

function distinct(terms: Term[]): Term[] {
  if (terms.length < 2) return terms;
  return [...new Map(terms.map((term) => [JSON.stringify(term), term])).values()];
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  for (const [piece] of text.matchAll(/\s+|\S+/g)) {
    if (piece.trim() !== "") tokens.push({ text: piece, offset });
    offset += countCharacters(piece);
  }
  return tokens;
}

function parseTerm(token: Token): Term {
  for (const kind of ["first-seen", "last-seen"] as const) {
    if (token.text.startsWith(`${kind}:`)) return parseSeen(kind, after(token, `${kind}:`));
  }
  if (token.text.startsWith("tags:")) return parseTags(after(token, "tags:"));
  return { kind: "text", text: foldCase(token.text) };
}

function parseSeen(kind: "first-seen" | "last-seen", token: Token): Term {
  const operator = parseOperator(token);
  return { kind, operator, day: checkedDay(operator === "=" ? token : after(token, operator)) };
}

function parseOperator(token: Token): DayOperator {
  // "<=" before "<", which is a prefix of it.
  for (const operator of ["<=", "<", ">=", ">"] as const) {
    if (token.text.startsWith(operator)) return operator;
  }
  return "=";
}

function checkedDay(token: Token): string {
  if (parseDay(token.text) !== null) return token.text;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(token.text)) {
    throw new TermError(
      `${quote(token)} is not a day: expected YYYY-MM-DD, optionally after <, <=, > or >=`,
      token,
    );
  }
  throw new TermError(`${quote(token)} is not in the calendar: expected an existing day`, token);
}

function parseTags(token: Token): Term {
  const tags = [...new Set(token.text.split(",").filter((tag) => tag !== "").map(foldCase))];
  if (tags.length === 0) {
    throw new TermError(
      `${quote(token)} is not a list of tags: expected one or more tags separated by commas`,
      token,
    );
  }
  return { kind: "tags", tags };
}

/** The rest of a token after its beginning. */
function after(token: Token, beginning: string): Token {
  return {
    text: token.text.slice(beginning.length),
    offset: token.offset + countCharacters(beginning),
  };
}

function quote(token: Token): string {
  return `"${token.text}" at character ${token.offset + 1}`;
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
