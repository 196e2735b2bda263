import type { Command } from 'commander';
import { EXIT } from '../../../core/errors.ts';
import { type Io, printLine, wrapped } from '../../../session/terminal.ts';
import { parseTimeout } from '../../arguments.ts';
import type { Runner } from '../../options.ts';

export function addMcp(program: Command, run: Runner): void {
  program
    .command('mcp')
    .summary('answer an AI assistant over stdin and stdout')
    .description(
      'Serves the Model Context Protocol over stdin and stdout, for an assistant that starts it. It only ' +
        'reads the mirror. See docs/assistants.md.',
    )
    .option('--timeout <time>', 'stop a question after this time: 5, 10s, 1m', '10s')
    .action(({ timeout }: { timeout: string }) => run((io) => runMcp(io, timeout)));
}

async function runMcp(io: Io, timeout: string): Promise<number> {
  const limitMs = parseTimeout(timeout);
  const { serveAssistant } = await import('../../../assistant/server.ts');
  const { openReadOnly } = await import('../../../query/open.ts');
  const { keyToMask } = await import('../../../session/config/secrets.ts');
  const { mirrorAddress } = await import('../../../session/reader.ts');
  const databaseUrl = mirrorAddress(io);
  // An assistant shows a server that does not start better than one that fails at each question.
  await (await openReadOnly(databaseUrl)).close();
  const key = keyToMask(io.env, io.cwd);
  await serveAssistant({
    databaseUrl,
    key,
    version: io.version,
    limitMs,
    signal: io.signal,
    onError: (error) => printLine(io.stderr, wrapped(io.stderr, error.message), key),
  });
  return io.signal.aborted ? EXIT.interrupted : EXIT.done;
}
