/** The parameter `q`: parsing it and matching tests against it. */
export { matches, prepare, type Searchable } from "./match.ts";
export {
  type DayOperator,
  MAX_QUERY_CHARACTERS,
  parseQuery,
  type Query,
  type Term,
} from "./parse.ts";
