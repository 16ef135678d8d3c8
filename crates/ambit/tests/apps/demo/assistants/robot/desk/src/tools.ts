export function ConfirmTask(args: { goals: string }) {
  return { confirmed: true, goals: args.goals };
}
