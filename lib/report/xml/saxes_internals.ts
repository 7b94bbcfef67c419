import type { SaxesParser } from "saxes";

/** An element, as the parser keeps it. */
export interface SaxesTag {
  name: string;
  attributes: Readonly<Record<string, string | undefined>>;
  isSelfClosing: boolean;
}

/**
 * What we touch inside the parser, because it offers no other way to bound its memory: it collects
 * every CDATA section, comment and attribute as a whole, also when nobody listens. Its version is
 * pinned, and tests of memory and limits fail when one of these changes its meaning.
 */
export interface SaxesInternals {
  /** One of {@link PARSER_STATE}. */
  state: number;
  /** The text, comment, CDATA section, doctype or attribute value that is being read. */
  text: string;
  /** The name of an element or attribute that is being read. */
  name: string;
  piTarget: string;
  /** The reference that is being read, without its ampersand. */
  entity: string;
  /** The state that the reference interrupts. */
  readonly entityReturnState: number;
  /** The piece that is being read, and how far. */
  readonly chunk: string;
  i: number;
  /** Of the last character that was read. */
  line: number;
  /** How many characters of that line were read. */
  column: number;
  /** The open elements. */
  readonly tags: SaxesTag[];
  /** The innermost element that is open, or just closed. */
  tag: SaxesTag | null;
  /** What reads on in each state; called until the piece is read. */
  readonly stateTable: (() => void)[];
  /** What a reference stands for. */
  parseEntity(entity: string): string;
  /** True for the code points that XML calls characters. */
  isChar(code: number): boolean;

  // What the parser's on() and off() set. They do so by a computed name, which after a few times
  // makes the engine turn the parser into a hash table: 30 MB/s instead of 100.
  errorHandler: (error: Error) => void;
  openTagStartHandler: (tag: { name: string }) => void;
  attributeHandler: (attribute: { name: string; value: string }) => void;
  openTagHandler: (tag: { name: string; attributes: Record<string, string> }) => void;
  closeTagHandler: () => void;
  xmldeclHandler: (declaration: { encoding?: string }) => void;
  piHandler: (instruction: { target: string }) => void;
  textHandler: ((text: string) => void) | undefined;
  cdataHandler: ((text: string) => void) | undefined;
}

/** The parser's private side. */
export function parserInternals(parser: SaxesParser<{ xmlns: false }>): SaxesInternals {
  return parser as unknown as SaxesInternals;
}

const DECLARATION_FIRST = 27;
const DECLARATION_LAST = 33;
const TEXT = 13;
const CDATA_FIRST = 20;
const CDATA_LAST = 22;

/** The numbers of the parser's states, as far as they matter. */
export const PARSER_STATE = {
  /** Text directly inside an element. */
  text: TEXT,
  /** A CDATA section. */
  section: CDATA_FIRST,
  entity: 14,
  attributeValue: 40,
  /** Text or a CDATA section. */
  isText: (state: number) => state === TEXT || (state >= CDATA_FIRST && state <= CDATA_LAST),
  /** The XML declaration. */
  isDeclaration: (state: number) => state >= DECLARATION_FIRST && state <= DECLARATION_LAST,
} as const;
