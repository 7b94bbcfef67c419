/** Messages as test frameworks write them, of `fixtures/failure_groups/messages.txt`. */
const FILE = new URL("../../../fixtures/failure_groups/messages.txt", import.meta.url);

/**
 * Those of one paragraph have one cause, those of two have not. A line that begins with `# ` names the
 * framework.
 */
export const CAUSES: readonly (readonly string[])[] = (await Deno.readTextFile(FILE))
  .split(/\n\n+/)
  .map((paragraph) => paragraph.split("\n").filter((line) => line !== "" && !line.startsWith("# ")))
  .filter((messages) => messages.length > 0);
