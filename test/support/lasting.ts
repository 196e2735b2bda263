import { onTestFinished } from 'vitest';

type Release = () => unknown;

/** The releases of what `lasting` makes now; null while a test makes something for itself. */
let releases: Release[] | null = null;

/** Releases a part of a mirror after the test, or after the tests that share the mirror. */
export function atEnd(release: Release): void {
  if (releases === null) onTestFinished(async () => void (await release()));
  else releases.push(release);
}

/**
 * Makes something in a `beforeAll`, for several tests that only read it.
 * @returns it, and the function that releases its parts, the last one first
 */
export async function lasting<Made>(
  make: () => Promise<Made>,
): Promise<{ made: Made; release: () => Promise<void> }> {
  const own: Release[] = [];
  const release = async (): Promise<void> => {
    for (const one of own.toReversed()) await one();
  };
  releases = own;
  try {
    return { made: await make(), release };
  } catch (error) {
    await release();
    throw error;
  } finally {
    releases = null;
  }
}
