/** A source of rows: a table, a subquery or a common table expression. */
export class Source {
  readonly alias: string;
  /** `null` unless it is a table. */
  readonly table: string | null;
  /** Whether it is a table of the coordinator that has the column. */
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

  /** The representative of all sources with the same value in the column. */
  root(): Source {
    return this.#peer?.root() ?? this;
  }

  /** Whether the column is restricted to parameters. */
  isBound(): boolean {
    return this.root().#isBound;
  }

  /** Records an equality with a parameter. */
  bind(): void {
    this.root().#isBound = true;
  }

  /** Records an equality with the column of another source. */
  join(other: Source | null): void {
    const root = this.root();
    const otherRoot = other?.root();
    if (!otherRoot || root === otherRoot) return;
    root.#peer = otherRoot;
    otherRoot.#isBound ||= root.#isBound;
  }
}
