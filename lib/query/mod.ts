/** The parameters `q` and `branch`: their parsers, and the search for tests that match `q`. */
export {
  type BranchFilter,
  MAX_BRANCH_CHARACTERS,
  MAX_BRANCH_PATTERNS,
  parseBranches,
} from "./branches.ts";
export {
  type DayOperator,
  MAX_QUERY_CHARACTERS,
  parseQuery,
  type Query,
  type Term,
} from "./parse.ts";
export { type Searchable, TestSearch } from "./search.ts";
