export const filesOf=()=>({});export const writeFiles=()=>[];export const differences=()=>[]
