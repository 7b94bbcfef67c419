/**
 * Which rows of distributed tables a statement can reach.
 *
 * Every mention of such a table is a node. An equality of its distribution column with that of
 * another node joins the two; one with a parameter binds it. What is bound, or joined to what is,
 * can be sent to the server that has the rows. It is a reading of text and no parser of SQL: what it
 * does not understand counts as not there, so it errs to the strict side.
 */
import { Source } from "./source.ts";
import { isLike, isQuery, splitAt, type Token, tokenize, wordsOf } from "./tokens.ts";

/** The tables that have the distribution column. */
export interface Tables {
  column: string;
  distributed: ReadonlySet<string>;
  /** Others that have a column of that name. */
  others: ReadonlySet<string>;
}

/**
 * How a statement restricts a distributed table: to the values of parameters, only by a join to a
 * table of the coordinator, or not at all.
 */
type Restriction = "bound" | "joined" | "unrestricted";

/** A mention of a distributed table. */
interface Mention {
  table: string;
  restriction: Restriction;
}

/**
 * All mentions of distributed tables, in the order in which they stand in the statement.
 *
 * @throws {SyntaxError} when a table stands where rows come from and was overlooked
 */
export function readMentions(statement: string, tables: Tables): Mention[] {
  const reader = new Reader(tables);
  const tokens = tokenize(statement);
  reader.read(tokens, { sources: [], ctes: new Map() });
  const mentions = reader.mentions();
  const words = wordsOf(tokens);
  for (const table of tables.distributed) {
    const expected = words.filter((word, index) =>
      word === table && ["from", "join", "into", "update"].includes(words[index - 1] ?? "")
    ).length;
    const missing = expected - mentions.filter((mention) =>
      mention.table === table
    ).length;
    if (missing > 0) {
      throw new SyntaxError(`${missing} mention of ${table} was not understood: ${statement}`);
    }
  }
  return mentions;
}

interface Scope {
  /** Innermost first. */
  sources: Source[];
  ctes: Map<string, Source>;
}

const CLAUSES = ["where", "group", "order", "having", "limit", "returning", "for"];
const JOIN_WORDS = ["left", "right", "full", "inner", "outer", "cross", "lateral", "only"];
const NO_ALIAS = new Set([...CLAUSES, ...JOIN_WORDS, "on", "using", "set", "values", "select"]);

class Reader {
  readonly #tables: Tables;
  readonly #sources: Source[] = [];

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  mentions(): Mention[] {
    return this.#sources.filter(({ table }) => table !== null && this.#isDistributed(table))
      .map((source) => ({ table: source.table!, restriction: this.#restrictionOf(source) }));
  }

  #isDistributed(table: string): boolean {
    return this.#tables.distributed.has(table);
  }

  #restrictionOf(source: Source): Restriction {
    if (source.isBound()) return "bound";
    const peers = this.#sources.filter((other) => other.root() === source.root());
    return peers.some(({ isOther }) => isOther) ? "joined" : "unrestricted";
  }

  /** Reads a query; what it selects is as bound as the returned source. */
  read(tokens: readonly Token[], outer: Scope): Source | null {
    let rest = [...tokens];
    const ctes = new Map(outer.ctes);
    if (rest[0] === "with") {
      rest.shift();
      for (;;) {
        const name = String(rest.shift());
        const end = rest.findIndex(Array.isArray);
        const source = this.#add(new Source(name));
        source.join(this.read(rest[end] as Token[], { ...outer, ctes }));
        ctes.set(name, source);
        rest = rest.slice(end + 1);
        if (rest[0] !== ",") break;
        rest.shift();
      }
    }
    const branches = splitAt(rest, "union", "except", "intersect")
      .map((branch) => branch[0] === "all" ? branch.slice(1) : branch)
      .map((branch) => this.#readBranch(branch, { ...outer, ctes }));
    // Together they are bound only when each of them is.
    const [first] = branches;
    if (branches.length === 1 || !first) return first ?? null;
    return branches.every((branch) => branch?.isBound()) ? first : null;
  }

  #readBranch(tokens: readonly Token[], outer: Scope): Source | null {
    const [verb] = tokens;
    const sources: Source[] = [];
    const scope: Scope = { ctes: outer.ctes, sources: [...outer.sources] };
    const declare = (source: Source) => {
      sources.push(this.#add(source));
      scope.sources = [...sources, ...outer.sources];
      return source;
    };
    if (verb === "insert") return this.#readInsert(tokens, { scope, declare });
    const clauses = clausesOf(tokens);
    const target = clauses.get("update") ?? clauses.get("delete");
    if (target) {
      this.#readFrom(target.filter((token) => token !== "from"), { scope, declare });
    }
    this.#readFrom(clauses.get("from") ?? [], { scope, declare });
    this.#readConditions(clauses.get("where") ?? [], scope);
    for (const [name, clause] of clauses) {
      if (!["from", "where", "update", "delete"].includes(name)) {
        this.#readNested(clause, scope);
      }
    }
    return sources.find(({ table }) => table !== null && this.#isDistributed(table)) ??
      sources.find((source) => source.isBound()) ?? sources[0] ?? null;
  }

  /** Tables that follow `from`, with their conditions. */
  #readFrom(
    tokens: readonly Token[],
    { scope, declare }: { scope: Scope; declare: (source: Source) => Source },
  ): void {
    const before: Source[] = [];
    const conditions: Token[][] = [];
    for (const item of splitAt(tokens, ",", "join")) {
      const words = item.filter((token) =>
        typeof token !== "string" || !JOIN_WORDS.includes(token)
      );
      if (words.length === 0) continue;
      const [first, second] = words;
      const isFunction = typeof first === "string" && Array.isArray(second);
      const named = words.slice(isFunction ? 2 : 1);
      if (named[0] === "as") named.shift();
      const [next] = named;
      const alias = typeof next === "string" && !NO_ALIAS.has(next) && /^[a-z_"]/.test(next)
        ? next
        : typeof first === "string"
        ? first
        : "";
      let source: Source;
      if (Array.isArray(first)) {
        const inner = isQuery(first) ? this.read(first, scope) : null;
        source = declare(new Source(alias));
        source.join(inner);
      } else if (isFunction) {
        this.#readNested(second as Token[], scope);
        source = declare(new Source(alias));
        // A function of parameters, such as unnest over the given ids, yields given values.
        if (JSON.stringify(second).includes('"$')) source.bind();
      } else {
        const cte = scope.ctes.get(first!);
        const { others } = this.#tables;
        source = declare(
          cte
            ? new Source(alias)
            : new Source(alias, { table: first!, isOther: others.has(first!) }),
        );
        if (cte) source.join(cte);
      }
      const using = words.indexOf("using");
      if (using >= 0 && (words[using + 1] as Token[]).includes(this.#tables.column)) {
        for (const other of before) if (this.#hasColumn(other)) source.join(other);
      }
      const on = words.indexOf("on");
      if (on >= 0) conditions.push(words.slice(on + 1));
      before.push(source);
    }
    for (const condition of conditions) this.#readConditions(condition, scope);
  }

  #readInsert(
    tokens: readonly Token[],
    { scope, declare }: { scope: Scope; declare: (source: Source) => Source },
  ): Source | null {
    const table = String(tokens[2]);
    const end = tokens.findIndex(Array.isArray);
    const columns = tokens[end] as Token[];
    const target = declare(
      new Source("excluded", { table, isOther: this.#tables.others.has(table) }),
    );
    const rest = tokens.slice(end + 1);
    const place = splitAt(columns, ",").findIndex((it) => isLike(it, [this.#tables.column]));
    const conflict = rest.findIndex((token, index) =>
      token === "on" && rest[index + 1] === "conflict"
    );
    const query = conflict < 0 ? rest : rest.slice(0, conflict);
    const values = query[0] === "values" ? (query[1] as Token[]) : clausesOf(query).get("select");
    const value = splitAt(values ?? [], ",")[place] ?? [];
    if (isParameter(value)) target.bind();
    if (query[0] === "values") this.#readNested(query, scope);
    else {
      const source = this.read(query, scope);
      if (value.at(-1) === this.#tables.column) target.join(source);
    }
    return target;
  }

  /** Conditions that all must hold; of those with `or` none is sure to. */
  #readConditions(tokens: readonly Token[], scope: Scope): void {
    this.#readNested(tokens, scope);
    if (tokens.includes("or")) return;
    for (const condition of splitAt(tokens, "and")) {
      const [only] = condition;
      if (condition.length === 1 && Array.isArray(only)) {
        this.#readConditions(only, scope);
        continue;
      }
      this.#readEquality(condition, scope);
      this.#readMembership(condition, scope);
    }
  }

  /** `x.repository_id = $1`, `= any ($1...)`, `= y.repository_id`, either way round. */
  #readEquality(condition: readonly Token[], scope: Scope): void {
    const [left = [], right = [], ...more] = splitAt(condition, "=");
    if (more.length > 0) return;
    for (const [side, other] of [[left, right], [right, left]] as const) {
      for (const source of this.#columnOf(side, scope)) {
        if (isParameter(other) || isAnyOfParameter(other)) source.bind();
        else for (const peer of this.#columnOf(other, scope)) source.join(peer);
      }
    }
  }

  /** `repository_id in (select ...)`, also as one of several columns. */
  #readMembership(condition: readonly Token[], scope: Scope): void {
    const [left = [], right = [], ...more] = splitAt(condition, "in");
    const [query] = right;
    if (more.length > 0 || !Array.isArray(query) || !isQuery(query)) return;
    const [first] = left;
    const columns = left.length === 1 && Array.isArray(first) ? splitAt(first, ",") : [left];
    const selected = splitAt(clausesOf(query).get("select") ?? [], ",");
    const place = columns.findIndex((column) => this.#columnOf(column, scope).length > 0);
    if (place < 0 || selected[place]?.at(-1) !== this.#tables.column) return;
    // It was read once as what is nested; this reading is only for what it selects.
    const inner = new Reader(this.#tables).read(query, { ...scope, sources: [] });
    if (!inner?.isBound()) return;
    for (const source of this.#columnOf(columns[place]!, scope)) source.bind();
  }

  #readNested(tokens: readonly Token[], scope: Scope): void {
    for (const token of tokens) {
      if (!Array.isArray(token)) continue;
      if (isQuery(token)) this.read(token, scope);
      else this.#readNested(token, scope);
    }
  }

  /** The sources whose distribution column these tokens are. */
  #columnOf(tokens: readonly Token[], { sources }: Scope): Source[] {
    const { column } = this.#tables;
    if (isLike(tokens, [column])) {
      const own = sources.filter((source) => this.#hasColumn(source));
      // Without a qualifier it is that of the innermost, or of all that `using` made one.
      const [first] = own;
      return first ? own.filter((source) => source.root() === first.root()) : [];
    }
    if (isLike(tokens, [/^\w+$/, ".", column])) {
      const source = sources.find(({ alias }) => alias === tokens[0]);
      return source ? [source] : [];
    }
    return [];
  }

  #hasColumn({ table, isOther }: Source): boolean {
    return table === null || isOther || this.#isDistributed(table);
  }

  #add(source: Source): Source {
    this.#sources.push(source);
    return source;
  }
}

/** A query's tokens by the word that begins each clause. */
function clausesOf(tokens: readonly Token[]): Map<string, Token[]> {
  const clauses = new Map<string, Token[]>();
  let current: Token[] = [];
  for (const [index, token] of tokens.entries()) {
    const isDistinctFrom = token === "from" && tokens[index - 1] === "distinct";
    const isTarget = token === "from" && tokens[index - 1] === "delete";
    if (typeof token === "string" && !isDistinctFrom && !isTarget && BEGINNINGS.has(token)) {
      clauses.set(token, current = []);
    } else current.push(token);
  }
  return clauses;
}

const BEGINNINGS = new Set(
  ["select", "update", "delete", "set", "from", "where", "group", "order", "having", "limit"]
    .concat(["returning", "for"]),
);

/** `$1`, with or without a type. */
function isParameter([first, ...more]: readonly Token[]): boolean {
  return typeof first === "string" && /^\$\d+$/.test(first) &&
    (more.length === 0 || more[0] === "::");
}

/** `any ($1::text::bigint[])` and `any (array(select ... from ... $1 ...))`. */
function isAnyOfParameter(tokens: readonly Token[]): boolean {
  const [any, values] = tokens;
  return any === "any" && Array.isArray(values) && isParameter(values);
}
