// Tests: tests/lib/cli/commands/evidence_test.ts tests/lib/cli/commands/gate_test.ts
/** The command ends with an exit code of its own; its output is complete. */
export class ExitWith extends Error {
  override name = "ExitWith";

  constructor(readonly exitCode: number) {
    super(`exit code ${exitCode}`);
  }
}
