/** The command ends with an exit code of its own; its output is complete. */
export class ExitWith extends Error {
  override name = "ExitWith";

  constructor(readonly exitCode: number) {
    super(`exit code ${exitCode}`);
  }
}
