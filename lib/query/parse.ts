/**
 * The language of the parameter `q`: terms that must all hold.
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
 * tag char   = ? any character but a space and "," ? ;
 * character  = ? any character but a space ? ;
 * space      = ? what \s matches: blank, tab, line end, no-break space and Unicode's others ? ;
 * ```
 *
 * A term goes on to the next space. One that begins with `first-seen:`, `last-seen:` or `tags:`,
 * spelled exactly so, must be a whole `seen` or `tags`, and a day must be one of the calendar; any
 * other term is a `text`, colons included, because names of tests contain colons. There is no
 * quoting and no escaping. A term that stands there twice counts once.
 */
import { parseDay } from "../base/time.ts";
import { foldCase } from "./fold.ts";

/** How the day of a test relates to the day of a term; `=` is what no operator means. */
export type DayOperator = "<" | "<=" | ">" | ">=" | "=";

/** One condition of a query. */
export type Term =
  /** `day` is `YYYY-MM-DD`. */
  | { kind: "first-seen" | "last-seen"; operator: DayOperator; day: string }
  /** At least one of them; folded, never empty. */
  | { kind: "tags"; tags: string[] }
  /** Part of a suite, name, file or class; folded. */
  | { kind: "text"; text: string };

/** Conditions that must all hold; none when the text was blank. */
export interface Query {
  terms: Term[];
}

/** Long enough for any honest query, short enough that a hostile one costs little. */
export const MAX_QUERY_CHARACTERS = 1000;

/** A piece of the query, and where it stands. */
interface Token {
  text: string;
  /** Characters (code points) before it in the query. */
  offset: number;
}

/** What is wrong with a term; `offset` counts the characters (code points) before the mistake. */
class TermError extends SyntaxError {
  readonly offset: number;

  constructor(message: string, token: Token) {
    super(message);
    this.offset = token.offset;
  }
}

/**
 * Parses the text of a query, or tells everything that is wrong with it.
 *
 * Each message names a wrong term by its number and text, and the character (both counted from 1)
 * where it goes wrong. A blank text is a query without terms.
 *
 * @example
 * ```ts
 * import { parseQuery } from "./parse.ts";
 *
 * parseQuery("login last-seen:>=2026-01-31").query?.terms.length; // 2
 * parseQuery("tags:").errors; // ['term 1 "tags:": "" at character 6 is no list of tags, ...']
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

/** Each term once: to ask the same of each test again costs and finds nothing. */
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
  // The longer ones first: "<" is how "<=" begins.
  for (const operator of ["<=", "<", ">=", ">"] as const) {
    if (token.text.startsWith(operator)) return operator;
  }
  return "=";
}

function checkedDay(token: Token): string {
  if (parseDay(token.text) !== null) return token.text;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(token.text)) {
    throw new TermError(
      `${quote(token)} is no day, expected YYYY-MM-DD with none or one of <, <=, >, >= before it`,
      token,
    );
  }
  throw new TermError(`${quote(token)} is not in the calendar, expected an existing day`, token);
}

function parseTags(token: Token): Term {
  const tags = [...new Set(token.text.split(",").filter((tag) => tag !== "").map(foldCase))];
  if (tags.length === 0) {
    throw new TermError(
      `${quote(token)} is no list of tags, expected one or more tags with commas between them`,
      token,
    );
  }
  return { kind: "tags", tags };
}

/** What follows the beginning of a token. */
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
