/** Something with rows: a table, a subquery, a common table expression. */
export class Source {
  readonly alias: string;
  /** `null` for what is no table. */
  readonly table: string | null;
  /** Whether it is a table of the coordinator with a column of the name. */
  readonly isOther: boolean;
  #peer: Source | null = null;
  #isBound = false;

  constructor(alias: string, { table = null, isOther = false }: {
    table?: string | null;
    isOther?: boolean;
  } = {}) {
    this.alias = alias;
    this.table = table;
    this.isOther = isOther;
  }

  /** One of those with the same value in the column, the same one for all of them. */
  root(): Source {
    return this.#peer?.root() ?? this;
  }

  /** Whether the column has only values of parameters. */
  isBound(): boolean {
    return this.root().#isBound;
  }

  /** An equality with a parameter was found. */
  bind(): void {
    this.root().#isBound = true;
  }

  /** An equality with the column of another was found. */
  join(other: Source | null): void {
    const root = this.root();
    const otherRoot = other?.root();
    if (!otherRoot || root === otherRoot) return;
    root.#peer = otherRoot;
    otherRoot.#isBound ||= root.#isBound;
  }
}
