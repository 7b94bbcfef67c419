/** What deploy/citus.sql says: which table is spread over the servers, and by which column. */

/** Where each table of the schema lies. */
export interface Distribution {
  /** The distribution column of each distributed table. */
  columns: Map<string, string>;
  /** Distributed tables, each with the one that it lies beside; `none` for the first. */
  besides: Map<string, string>;
  /** Copied to every server. */
  reference: string[];
  /** Ordinary tables of the coordinator. */
  coordinator: string[];
}

/** Where the script lies. */
export const DISTRIBUTION_SCRIPT = new URL("../../deploy/citus.sql", import.meta.url);

/** Reads deploy/citus.sql. */
export async function readDistribution(): Promise<Distribution> {
  return parseDistribution(await Deno.readTextFile(DISTRIBUTION_SCRIPT));
}

/**
 * Takes such a script apart.
 *
 * @throws {SyntaxError} when a table stands there twice, or a line says something else
 */
export function parseDistribution(script: string): Distribution {
  const distribution: Distribution = {
    columns: new Map(),
    besides: new Map(),
    reference: [],
    coordinator: [],
  };
  const seen = new Set<string>();
  const claim = (table: string) => {
    if (seen.has(table)) throw new SyntaxError(`${table} stands there twice`);
    seen.add(table);
    return table;
  };
  for (const line of script.split("\n")) {
    const distributed =
      /^select create_distributed_table\('(\w+)', '(\w+)', colocate_with => '(\w+)'\);$/.exec(line);
    const reference = /^select create_reference_table\('(\w+)'\);$/.exec(line);
    const coordinator = /^-- on the coordinator: (\w+)$/.exec(line);
    if (distributed) {
      const [, table = "", column = "", beside = ""] = distributed;
      distribution.columns.set(claim(table), column);
      distribution.besides.set(table, beside);
    } else if (reference) distribution.reference.push(claim(reference[1]!));
    else if (coordinator) distribution.coordinator.push(claim(coordinator[1]!));
    else if (!/^(--.*|create extension if not exists citus;)?$/.test(line)) {
      throw new SyntaxError(`"${line}" is not understood`);
    }
  }
  return distribution;
}
