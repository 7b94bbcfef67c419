/** The parameter `q`: parsing it and matching tests against it. */
export { addBit, type Bits, countBits, forEachNumber, noBits, numbersOf } from "./bits.ts";
export {
  type DayOperator,
  MAX_QUERY_CHARACTERS,
  parseQuery,
  type Query,
  type Term,
} from "./parse.ts";
export { type Searchable, SearchIndex } from "./search_index.ts";
