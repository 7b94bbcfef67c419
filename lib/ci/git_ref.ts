// Tests: tests/lib/ci/services_test.ts tests/lib/ci/claims_test.ts
/** The branch of a ref `refs/heads/...`, `""` for others such as tags. */
export function branchOf(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "";
}
