import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The whole Prisma schema of one provider: its datasource and the shared models. `output` is where a generated client goes. */
export function schemaOf(provider: 'sqlite', output = './client'): string {
  const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
  const models = read('models.prisma').replace(
    'importFileExtension = "ts"',
    `importFileExtension = "ts"\n  output = ${JSON.stringify(output)}`,
  );
  return `${read(`${provider}/datasource.prisma`)}\n${models}`;
}
