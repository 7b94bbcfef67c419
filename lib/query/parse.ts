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

/** `operator` is `=` unless given, `day` is `YYYY-MM-DD`. */
export type SeenTerm = { kind: "first-seen" | "last-seen"; operator: string; day: string };

export type Term =
  | SeenTerm
  /** At least one of the tags; folded, never empty. */
  | { kind: "tags"; tags: string[] }
  /** A part of suite, name, file or class; folded. */
  | { kind: "text"; text: string };

/** Bounds the cost of hostile queries. */
export const MAX_QUERY_CHARACTERS = 1000;

/**
 * Parses the text of a query into terms that must all match; a blank one has none. Each error names an
 * invalid term by its number from 1 and its text, as in `term 1 "tags:": "" is not a list of tags, ...`.
 */
export function parseQuery(text: string): { terms: Term[]; errors: string[] } {
  const { length } = [...text];
  if (length > MAX_QUERY_CHARACTERS) {
    return {
      terms: [],
      errors: [`${length} characters, expected at most ${MAX_QUERY_CHARACTERS}`],
    };
  }
  const terms = new Map<string, Term>();
  const errors: string[] = [];
  for (const [index, [word]] of [...text.matchAll(/\S+/g)].entries()) {
    try {
      const term = parseTerm(word);
      terms.set(JSON.stringify(term), term);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      errors.push(`term ${index + 1} "${word}": ${error.message}`);
    }
  }
  return { terms: [...terms.values()], errors };
}

function parseTerm(text: string): Term {
  const [, kind, operator = "=", day = ""] =
    /^(first-seen|last-seen):(<=|<|>=|>)?(.*)$/.exec(text) ?? [];
  if (kind === "first-seen" || kind === "last-seen") {
    return { kind, operator, day: checkedDay(day) };
  }
  if (text.startsWith("tags:")) return { kind: "tags", tags: parseTags(text.slice(5)) };
  return { kind: "text", text: foldCase(text) };
}

function checkedDay(day: string): string {
  if (parseDay(day) !== null) return day;
  throw new SyntaxError(
    `invalid date "${day}": expected YYYY-MM-DD, optionally after <, <=, > or >=`,
  );
}

function parseTags(list: string): string[] {
  const tags = new Set(list.split(",").filter((tag) => tag !== "").map(foldCase));
  if (tags.size > 0) return [...tags];
  throw new SyntaxError(
    `"${list}" is not a list of tags: expected one or more tags separated by commas`,
  );
}

/**
 * Unicode's lower case, independent of the database's locale. A capital sigma becomes `ς` at the end of a
 * word and `σ` elsewhere: a searched text may end within a word, so both count as the same letter.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}
