export const textOf=(run)=>''
