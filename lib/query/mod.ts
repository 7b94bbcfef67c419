/** The parameter `q`: its parser, and the search for tests that match it. */
export {
  type DayOperator,
  MAX_QUERY_CHARACTERS,
  parseQuery,
  type Query,
  type Term,
} from "./parse.ts";
export { type Searchable, TestSearch } from "./search.ts";
