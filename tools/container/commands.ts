/** Runs other programs. */

/** Runs a program. @throws {Error} with the end of its output when it fails */
export async function run(
  [file = "", ...first]: readonly string[],
  args: readonly string[],
  { cwd }: { cwd?: string } = {},
): Promise<void> {
  await output([file, ...first], args, { cwd });
}

/** Runs a program, and returns its standard output. @throws {Error} when it fails */
export async function output(
  [file = "", ...first]: readonly string[],
  args: readonly string[],
  { cwd }: { cwd?: string | undefined } = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(file, {
    args: [...first, ...args],
    ...cwd === undefined ? {} : { cwd },
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (success) return text;
  const reason = `${text}${new TextDecoder().decode(stderr)}`.trim().slice(-2_000);
  throw new Error(`${[file, ...first, ...args].join(" ").slice(0, 200)} failed: ${reason}`);
}
