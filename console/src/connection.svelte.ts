// Whether the server can be reached; requests say so, and the shell shows it.

let lost = $state(false);

export function isConnectionLost(): boolean {
  return lost;
}

export function setConnectionLost(value: boolean): void {
  lost = value;
}
